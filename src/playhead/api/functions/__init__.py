"""[api]: observed functions: proxies that behave as the function does, one wrapper per kind of callable."""
