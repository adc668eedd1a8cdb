import { ORDER_TYPE } from '../k6/lib/order-type.js'
import { runLifecycles } from './load/lifecycles.ts'
import { post } from './load/post.ts'
import type { LifecycleShape } from './load/requests.ts'
import type { Sample } from './load/tally.ts'
import type { Options } from './options.ts'
import { DRAIN_MS_MAX, type Phase } from './phase.ts'
import type { System } from './system.ts'
import { watchWindow } from './watch/window.ts'

type Parties = Pick<LifecycleShape, 'type' | 'principalBearer' | 'performerBearer' | 'performer' | 'deadline'>

const SAMPLE_EVERY = 64
const DEADLINE_MS = 86_400_000

/** Registers the type, and a performer with its own key. The ledger's first key belongs to the principal. */
export async function makeParties({ targets, bearer }: System): Promise<Parties> {
  // The payload and evidence of `makeLifecycleRequests` match this type.
  await post(targets[0]!, bearer, '/v1/types', ORDER_TYPE)
  const key = await post(targets[0]!, bearer, '/v1/keys', {
    name: 'performer',
    scopes: ['records:write', 'records:read:own'],
  })
  return {
    type: `${ORDER_TYPE.name}/${ORDER_TYPE.version}`,
    principalBearer: bearer,
    performerBearer: key['key']!,
    performer: key['agent']!,
    deadline: new Date(Date.now() + DEADLINE_MS).toISOString(),
  }
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
      request: { ...parties, gate, payloadBytes, idempotencyKeys, seed },
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

/**
 * Checks sampled answers: each contains the record with its terms and, once accepted, the settlement signal. Throws
 * otherwise.
 */
function checkAnswers(samples: readonly Sample[]): number {
  const answers = samples.filter((sample) => !isFailure(sample))
  for (const { body } of answers) {
    const { state, version, entry, gated } = JSON.parse(body)
    const isSettled = state !== 'ACCEPTED' || gated?.verdict?.signal?.decision === 'SETTLE'
    if (gated?.performer && version >= 1 && Number.isInteger(entry?.seq) && isSettled) continue
    throw new Error(`an answer lacks members: ${body.slice(0, 1000)}`)
  }
  return answers.length
}
