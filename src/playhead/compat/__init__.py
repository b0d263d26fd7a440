"""What depends on internals of other libraries, one module per library."""
