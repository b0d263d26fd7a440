"""What depends on internals of other libraries, one module per library.

uvicorn   its HTTP/1.1 connection, with names for the state that bounds need
"""
