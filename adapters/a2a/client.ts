import type { AgentCard, Message, SendMessageRequest, StreamResponse } from '@a2a-js/sdk'
import {
  ClientFactoryOptions,
  type RequestOptions,
  ServiceParameters,
  type Transport,
  type TransportFactory,
  withA2AExtensions,
} from '@a2a-js/sdk/client'
import type { Tallystick } from '@tallystick/sdk'
import { type Action, Actions, type Outcome } from '@tallystick/sdk/actions'
import { currentAction } from '../shared/current.ts'
import { type Carried, carry, EXTENSION, recordOf } from './extension.ts'
import { outcomeOfAnswer, outcomeOfState, textsOf } from './outcomes.ts'

export type RecordCallsOptions = {
  readonly actions?: Actions | undefined
  /** Messages also bring the record's receipt, from here. Each waits for it: the ledger makes one a second. */
  readonly receipts?: Tallystick | undefined
}

const FRAMEWORK = 'a2a-js'
/**
 * Writes down the messages that a client sends to other agents, and how each was answered. Each brings the id of its record along.
 *
 *     const factory = new ClientFactory(recordCalls())
 *
 * It stands around the transports, because the library tells an interceptor nothing of a request that failed.
 */
export function recordCalls(
  { actions = new Actions(), receipts }: RecordCallsOptions = {},
  options: ClientFactoryOptions = ClientFactoryOptions.default,
): ClientFactoryOptions {
  const recorder = new Recorder(actions, receipts)
  return { ...options, transports: options.transports.map((factory) => recorder.around(factory)) }
}

/** A message as it is sent. */
type Begun = {
  readonly action: Action
  readonly sent: SendMessageRequest
  readonly with: RequestOptions
}

class Recorder {
  readonly #actions: Actions
  readonly #receipts: Tallystick | undefined

  constructor(actions: Actions, receipts: Tallystick | undefined) {
    this.#actions = actions
    this.#receipts = receipts
  }

  around(factory: TransportFactory): TransportFactory {
    return {
      protocolName: factory.protocolName,
      create: async (url, card) => this.#recorded(await factory.create(url, card), url, card),
    }
  }

  #recorded(transport: Transport, url: string, card: AgentCard): Transport {
    const recorded: Pick<Transport, 'sendMessage' | 'sendMessageStream'> = {
      sendMessage: async (request, options) => {
        const { action, sent, with: more } = await this.#begin(request, options, url, card)
        return currentAction.run(action, () => answered(action, transport.sendMessage(sent, more)))
      },
      sendMessageStream: (request, options) =>
        this.#stream(() => this.#begin(request, options, url, card), transport),
    }
    return new Proxy(transport, {
      get(target, name) {
        if (Object.hasOwn(recorded, name)) return recorded[name as keyof typeof recorded]
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  async *#stream(
    begin: () => Promise<Begun>,
    transport: Transport,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { action, sent, with: more } = await begin()
    let last: Outcome = {}
    try {
      for await (const event of transport.sendMessageStream(sent, more)) {
        last = { ...last, ...outcomeOfEvent(event) }
        yield event
      }
      action.end(last)
    } catch (error) {
      action.end({ error })
      throw error
    } finally {
      // A reader who goes away hears no end.
      action.end({ ...last, status: last.status ?? 'unknown' })
    }
  }

  /** Throws NotRecordedError if the message must not be sent unrecorded. */
  async #begin(
    request: SendMessageRequest,
    options: RequestOptions | undefined,
    url: string,
    card: AgentCard,
  ): Promise<Begun> {
    const { message } = request
    const told = this.#actions.toldFirst
    const call = {
      kind: 'agent',
      name: card.name,
      server: url,
      callId: message?.messageId,
      session: message?.contextId,
      arguments: message && textsOf(message),
      framework: FRAMEWORK,
      parent: currentAction.getStore(),
    } as const
    const action = this.#actions.begin(call, told, true)
    await action.permitted
    const carried = await this.#carried(action)
    const parameters = ServiceParameters.createFrom(options?.serviceParameters, withA2AExtensions(EXTENSION))
    return {
      action,
      sent: message === undefined ? request : { ...request, message: carry(message as Message, carried) },
      with: { ...options, serviceParameters: parameters },
    }
  }

  async #carried(action: Action): Promise<Carried> {
    const { traceparent } = action
    const record = await recordOf(action)
    if (record === null) return { traceparent }
    const receipt = await this.#receipts?.records.receipt(record).catch(() => null)
    return { record, traceparent, ...(receipt && { receipt: Buffer.from(receipt).toString('base64') }) }
  }
}

async function answered<Answer extends Parameters<typeof outcomeOfAnswer>[0]>(
  action: Action,
  answer: Promise<Answer>,
): Promise<Answer> {
  try {
    const found = await answer
    action.end(outcomeOfAnswer(found))
    return found
  } catch (error) {
    action.end({ error })
    throw error
  }
}

function outcomeOfEvent({ payload }: StreamResponse): Outcome {
  switch (payload?.$case) {
    case 'message':
    case 'task':
      return outcomeOfAnswer(payload.value)
    case 'statusUpdate':
      return outcomeOfState(payload.value.status?.state) ?? {}
    default:
      return {}
  }
}
