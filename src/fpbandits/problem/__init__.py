"""The set of candidate models: names, tables, files, built-in problems, practice problems."""
