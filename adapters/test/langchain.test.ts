import { testAgents } from './langchain-story.ts'

testAgents('agents of LangChain, the newest 1', false)
