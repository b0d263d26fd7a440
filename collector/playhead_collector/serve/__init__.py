"""read, analysis → [serve].  The HTTP API, except the routes that receive spans and content.

query_api         all routes of the query API                  analysis_pool   passes analysis questions to [workers]
operations        declared operations as routes                routing         routes, and their answers in OpenAPI
session           the web UI's session                         responses       HTTP responses from answers
auth, keyring     API keys and their scopes                    browser         the web UI, requests of other websites
errors            error responses                              trusted_proxies which proxies' headers are believed
read_limiter      limit of concurrent reads                    drop_in         what SDKs of other products ask first
health, metrics, identity   for operators and senders
"""
