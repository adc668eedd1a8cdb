import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { CODING_AGENT_METADATA, METADATA } from '../../../src/records/otlp/metadata-names.ts'

/** Attributes of OpenTelemetry's conventions for agents and models. */
const NAMES = Object.entries(conventions)
  .filter(([constant, name]) => constant.startsWith('ATTR_') && typeof name === 'string')
  .map(([, name]) => name as string)

/**
 * Names whose values are content. A new release of the conventions fails this test until each new name is on one of
 * the lists.
 */
const CONTENT = [
  'gen_ai.agent.description',
  'gen_ai.completion',
  'gen_ai.evaluation.explanation',
  'gen_ai.evaluation.score.label',
  'gen_ai.input.messages',
  'gen_ai.openai.request.response_format',
  'gen_ai.output.messages',
  'gen_ai.prompt',
  'gen_ai.request.stop_sequences',
  'gen_ai.retrieval.documents',
  'gen_ai.retrieval.query.text',
  'gen_ai.system_instructions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'gen_ai.tool.definitions',
  'gen_ai.tool.description',
  'mcp.resource.uri',
]

test('every name of the GenAI conventions is classified as metadata or content', () => {
  const names = NAMES.filter((name) => /^(?:gen_ai|mcp|openai)\./.test(name))
  assert.ok(names.length > 50)
  assert.deepEqual(
    names.filter((name) => !METADATA.has(name)).sort(),
    CONTENT.filter((name) => names.includes(name)),
  )
  assert.deepEqual(
    CONTENT.filter((name) => METADATA.has(name)),
    [],
  )
})

/** Last words of names that may be content or identify a person. */
const TELLING =
  /(?:^|[._])(?:text|message|messages|body|input|output|query|statement|arguments|args|result|response|request|prompt|completion|content|stacktrace|header|user|email|password|token|secret|cookie|sql|command|answer|question|value|values|data|metadata|description|explanation)$/i
/** Names that end with a word of TELLING although their values are metadata. */
const TOLD = [
  'audit.integrity.value',
  'gen_ai.evaluation.score.value',
  'gen_ai.server.time_to_first_token',
  'gen_ai.tool.type',
  'os.description',
  'process.runtime.description',
]

test('no content-like name is on the metadata lists; the lists are sorted, without duplicates', () => {
  const all = [...METADATA, ...CODING_AGENT_METADATA]
  assert.deepEqual(
    all.filter(
      (name) => TELLING.test(name) && !TOLD.includes(name) && !/^llm\.(?:cost|token_count)\./.test(name),
    ),
    [],
  )
  for (const names of [METADATA, CODING_AGENT_METADATA]) assert.deepEqual([...names], [...names].sort())
  assert.deepEqual(
    [...CODING_AGENT_METADATA].filter((name) => METADATA.has(name)),
    [],
  )
})
