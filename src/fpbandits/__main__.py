"""``python -m fpbandits``: the command line where no script is on the path."""

from fpbandits.cli import main

main()
