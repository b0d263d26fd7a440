"""What an error says about the port that was asked.  Pure."""


def grpc_hint(error: BaseException) -> str:
    """What to add to the message of an HTTP request's error when its answer was no HTTP/1.1, as of the port for gRPC;
    else nothing."""
    if not str(error).startswith("illegal "):  # as h11 begins: illegal request line, illegal status line
        return ""
    return "; what answers there speaks no HTTP/1.1: if that is the port for gRPC (4317), name the one for HTTP (4318)"
