"""What depends on the insides of a library of others: one module per library."""
