"""mock server → [client_environment] → environment. The variables that tell model clients which server to use."""

_KEY = "none"


def client_environment(url: str) -> dict[str, str]:
    """Returns variables that make the clients of OpenAI, Anthropic, Google and AWS Bedrock use the server at this
    URL."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": _KEY,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": _KEY,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "AWS_ACCESS_KEY_ID": _KEY,
        "AWS_SECRET_ACCESS_KEY": _KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        # The server is on this machine: no proxy.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
