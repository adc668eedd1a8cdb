"""Adapters that record what agents of a framework do: `openai_agents`, `langchain`, `claude`. Each has an extra of the package."""
