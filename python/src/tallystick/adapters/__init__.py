"""Record what agents of a framework do: `openai_agents`, `langchain`, `claude`, each with an extra of the package."""
