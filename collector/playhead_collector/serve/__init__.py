"""read, analysis → [serve].  The HTTP API, except the routes that receive spans and content.

routes            the query API, a file per kind of answer     analysis_pool   passes analysis questions to [workers]
responses         HTTP responses from answers                  schemas         response models for OpenAPI
auth, keyring     API keys and their scopes                    browser         the web UI, sign-in, other websites
errors            error responses                              trusted_proxies which proxies' headers are believed
read_limiter      limit of concurrent reads                    health, metrics, identity   for operators and senders
"""
