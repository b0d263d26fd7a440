"""A hint for requests that were sent to the wrong port. Pure."""


def grpc_hint(error: BaseException) -> str:
    """Returns a hint to append to the message of an HTTP request's error, if the answer was not HTTP/1.1, such as that
    of a gRPC port; empty for any other error."""
    if not str(error).startswith("illegal "):  # messages of h11: illegal request line, illegal status line
        return ""
    return "; what answers there speaks no HTTP/1.1: if that is the port for gRPC (4317), name the one for HTTP (4318)"
