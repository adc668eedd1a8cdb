/* Models of docs/guide.md that need neither account nor network: each asks for the tool `look_up`, and then says what it answered. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { MockLanguageModelV4 } from 'ai/test'

export const openaiModel = new ScriptedModel([
  [functionCall('look_up', { metal: 'copper' }, { callId: 'call_1' })],
  [assistantMessage('9,612 dollars a ton')],
])

class FakeChatModel extends BaseChatModel {
  readonly #answers = [
    new AIMessage({
      content: '',
      tool_calls: [{ id: 'call_2', name: 'look_up', args: { metal: 'copper' } }],
    }),
    new AIMessage('9,612 dollars a ton'),
  ]

  _llmType() {
    return 'fake'
  }

  override bindTools() {
    return this
  }

  async _generate() {
    const message = this.#answers.shift()!
    return { generations: [{ text: message.text, message }] }
  }
}

export const langchainModel = new FakeChatModel({})

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}

export const aiModel = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [
        { type: 'tool-call', toolCallId: 'call_3', toolName: 'look_up', input: '{"metal":"copper"}' },
      ],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: '9,612 dollars a ton' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
})
