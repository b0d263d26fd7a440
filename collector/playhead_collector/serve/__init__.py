"""read, analysis → [serve].  Questions and answers as HTTP.

routes            the query API, a file per kind of answer     analysis_pool   hands analysis questions to [workers]
responses         answers as responses                         schemas         types of answers → OpenAPI
auth, keyring     who may ask                                  browser_requests   what websites may not
errors            the form of refusals                         docs_page       the API's description as a page
health, metrics, identity   for those who run it
"""
