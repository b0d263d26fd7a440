"""[model]: Python objects of any kind → plain JSON values.  Never raises into the program."""
