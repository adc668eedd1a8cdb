import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'langchain' ? 'langchain-oldest' : specifier, context),
})
assert.match(import.meta.resolve('langchain'), /langchain-oldest/)
const { testAgents } = await import('./langchain-story.ts')

testAgents('agents of LangChain 1.0.1', true)
