"""Adapters that record what agents of a framework do: `openai_agents`, `langchain`, `claude`.

`openai_agents` needs the package's extra `openai-agents`, and `langchain` needs the extra `langchain`.
"""
