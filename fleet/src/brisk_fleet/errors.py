"""What ends a command: a sentence that names what failed, on what, and what to do."""


class FleetError(Exception):
    """A failure that the user can act on; its text is shown as it is."""
