"""openinference-instrumentation-llama-index with an index in memory: embeddings, a retrieval, an answer."""

from llama_index.core import Document, Settings, VectorStoreIndex
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from scene import QUESTION, REPORT, flush, otlp

providers = otlp()
LlamaIndexInstrumentor().instrument()
Settings.llm, Settings.embed_model = OpenAI(model="gpt-4o"), OpenAIEmbedding()
index = VectorStoreIndex.from_documents([Document(text=REPORT)])
index.as_query_engine(similarity_top_k=1).query(QUESTION)
flush(*providers)
