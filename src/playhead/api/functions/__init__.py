"""[api]: observed functions: proxies that behave like the function, and one wrapper per kind of callable."""
