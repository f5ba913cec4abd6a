"""The composition root: the only part that names concrete adapters. Each module is an entrance."""
