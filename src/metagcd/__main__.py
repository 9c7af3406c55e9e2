"""`python -m metagcd`."""

from metagcd.cli.main import main

if __name__ == "__main__":
    main()
