import { type LifecycleResult, runLifecycles } from './lifecycle-load.ts'
import type { Gate, LifecycleShape } from './lifecycle-requests.ts'
import type { Sample } from './load.ts'
import type { Target } from './load-connection.ts'
import type { Options } from './options.ts'
import { DRAIN_MS_MAX, type Phase } from './phase.ts'
import type { System } from './system.ts'
import { watchWindow } from './window.ts'

/** What a phase of gated records says beyond what every phase does. */
export type LifecycleFigures = Omit<LifecycleResult, 'load'> & { readonly gate: Gate }

/** What the clients of all phases of a round share. */
export type Parties = Pick<
  LifecycleShape,
  'type' | 'principalBearer' | 'performerBearer' | 'performer' | 'deadline'
>

const SAMPLE_EVERY = 64
const DEADLINE_MS = 86_400_000

/** An order, and three rules that its delivery is held to; the payload and evidence of `makeLifecycleRequests` fit. */
const TYPE = {
  name: 'order',
  version: 1,
  payloadSchema: {
    type: 'object',
    properties: {
      callId: { type: 'string', maxLength: 64 },
      input: {
        type: 'object',
        properties: {
          sku: { type: 'string', pattern: '^[A-Z]{2}-[0-9]{4}$' },
          quantity: { type: 'integer', minimum: 1 },
          unitPrice: { $ref: '#/$defs/money' },
        },
        required: ['sku', 'quantity', 'unitPrice'],
      },
    },
    required: ['callId', 'input'],
    $defs: {
      money: {
        type: 'object',
        properties: {
          amount: { type: 'string', maxLength: 32 },
          currency: { type: 'string', minLength: 3, maxLength: 3 },
        },
        required: ['amount', 'currency'],
      },
    },
  },
  evidenceSchema: {
    type: 'object',
    properties: {
      deliveryNote: { type: 'string', maxLength: 64 },
      quantity: { type: 'integer', minimum: 0 },
      unitPrice: { type: 'object', required: ['amount', 'currency'] },
      sealIntact: { type: 'boolean' },
    },
    required: ['deliveryNote', 'quantity', 'unitPrice'],
  },
  rules: [
    {
      id: 'quantity',
      op: 'within',
      expected: '/input/quantity',
      actual: '/quantity',
      tolerance: { percent: '5' },
    },
    { id: 'price', op: 'atMost', expected: '/input/unitPrice', actual: '/unitPrice' },
    {
      id: 'currency',
      op: 'equals',
      expected: '/input/unitPrice/currency',
      actual: '/unitPrice/currency',
    },
  ],
}

/** Registers the type, and a performer with a key of its own; the ledger's first key is the principal's. */
export async function makeParties({ targets, bearer }: System): Promise<Parties> {
  const post = (path: string, body: object) => postJson(targets[0]!, bearer, path, body)
  await post('/v1/types', TYPE)
  const key = await post('/v1/keys', { name: 'performer', scopes: ['records:write', 'records:read:own'] })
  return {
    type: `${TYPE.name}/${TYPE.version}`,
    principalBearer: bearer,
    performerBearer: key['key']!,
    performer: key['agent']!,
    deadline: new Date(Date.now() + DEADLINE_MS).toISOString(),
  }
}

async function postJson(
  { host, port }: Target,
  bearer: string,
  path: string,
  body: object,
): Promise<Record<string, string>> {
  const answer = await fetch(`http://${host}:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Record<string, string>
}

export async function runLifecyclePhase(
  system: System,
  postmaster: number | null,
  parties: Parties,
  clients: number,
  options: Options,
  seed: number,
): Promise<Phase> {
  const window = await watchWindow(system, postmaster, options)
  const { payloadBytes, idempotencyKeys, gate, warmUpMs, durationMs } = options
  const { load, ...figures } = await runLifecycles(
    {
      targets: system.targets,
      request: { ...parties, host: 'localhost', gate, payloadBytes, idempotencyKeys, seed },
      clients,
      warmUpMs,
      durationMs,
      drainMsMax: DRAIN_MS_MAX,
      sampleEvery: SAMPLE_EVERY,
    },
    window,
  )
  const { samples, ...counts } = load
  const name = `${clients} clients`
  return {
    name,
    servers: system.servers.length,
    connections: clients,
    load: counts,
    cpu: window.cpu(),
    samplesChecked: checkAnswers(samples),
    firstFailure: samples.find(isFailure)?.body ?? null,
    profiles: await window.profiles(`lifecycle-${gate}-${name}`, counts.achieved),
    lifecycle: { ...figures, gate },
  }
}

const isFailure = ({ status }: Sample) => status !== 200 && status !== 201

/** What is answered must be the record with its terms; what is accepted, with the signal to settle. Throws otherwise. */
function checkAnswers(samples: readonly Sample[]): number {
  const answers = samples.filter((sample) => !isFailure(sample))
  for (const { body } of answers) {
    const { state, version, entry, gated } = JSON.parse(body)
    const isSettled = state !== 'ACCEPTED' || gated?.verdict?.signal?.decision === 'SETTLE'
    if (gated?.performer && version >= 1 && Number.isInteger(entry?.seq) && isSettled) continue
    throw new Error(`an answer says too little: ${body.slice(0, 1000)}`)
  }
  return answers.length
}
