"""The figures and the page of the report, made from a `Material` and the judged claims."""
