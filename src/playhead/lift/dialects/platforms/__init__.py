"""SDKs of products that store traces, each with names of its own."""
