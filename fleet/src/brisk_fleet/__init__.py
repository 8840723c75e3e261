"""Results of many devices: received, kept in a Delta table, ranked with intervals, published as a static site and as
signed settings."""

__version__ = "0.1.0"
