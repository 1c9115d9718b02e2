"""The methods of finding pairs: a registry, and one file for each that has more to offer than `pairs`."""
