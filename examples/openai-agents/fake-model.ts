import {
  type AgentOutputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Usage,
  withGenerationSpan,
} from '@openai/agents'

/** Answers of a model; `input` has the conversation so far. */
export type Script = (request: ModelRequest) => AgentOutputItem

/** Stands in for a model, so that the example needs neither account nor network; traced as the library's own models are. */
export class FakeModel implements Model {
  readonly #name: string
  readonly #script: Script

  constructor(name: string, script: Script) {
    this.#name = name
    this.#script = script
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    return withGenerationSpan(async ({ spanData }) => {
      const output = [this.#script(request)]
      const usage = { inputTokens: wordsOf(request.input), outputTokens: wordsOf(output) }
      spanData.model = this.#name
      spanData.usage = { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens }
      if (request.tracing === true) {
        spanData.input = typeof request.input === 'string' ? [{ content: request.input }] : request.input
        spanData.output = output
      }
      return {
        output,
        usage: new Usage({ requests: 1, totalTokens: usage.inputTokens + usage.outputTokens, ...usage }),
      }
    })
  }

  // biome-ignore lint/correctness/useYield: the interface wants it; nothing here streams
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('this model does not stream')
  }
}

function wordsOf(value: unknown): number {
  return JSON.stringify(value).split(/\W+/).length
}
