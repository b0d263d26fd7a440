"""read, analysis → [serve].  The HTTP API, except the routes that receive spans and content.

handlers          the query API, a file per kind of answer     analysis_pool   passes analysis questions to [workers]
routing           operations as routes, and as OpenAPI         responses       HTTP responses from answers
auth, keyring     API keys and their scopes                    browser         the web UI, requests of other websites
errors            error responses                              trusted_proxies which proxies' headers are believed
read_limiter      limit of concurrent reads                    drop_in         what SDKs of other products ask first
local             the query API inside the calling process     health, metrics, identity   for operators and senders
"""
