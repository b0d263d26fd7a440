"""Settings of the SDK, and the table type that the collector's settings also use.

table   one setting: environment variable, type, default, help; reading and checking values
sdk     the settings of the SDK
"""
