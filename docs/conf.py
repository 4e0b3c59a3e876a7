"""The site that ``make docs`` builds: its pages load nothing from elsewhere."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

from generate import write_reference

import fpbandits

project = "fpbandits"
author = "The fpbandits developers"
project_copyright = author
version = release = fpbandits.__version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx_design"]
exclude_patterns = ["figures"]
default_role = "code"
smartquotes_action = "qe"  # --out is an option, not a dash
source_suffix = {".md": "myst-nb"}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_execution_show_tb = True
nb_output_stderr = "remove"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"fpbandits {version}"
html_favicon = "figures/icon.svg"
html_static_path: list[str] = []
html_show_sourcelink = False
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Write the pages that are made from the code before any page is read."""
    app.connect("builder-inited", lambda app: write_reference(Path(app.srcdir)))
