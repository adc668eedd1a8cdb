import { mkdirSync } from 'node:fs'
import type { Target } from '../load/connection.ts'
import { type Side, startGuest, stopGuest } from '../pair.ts'
import { startSystem } from '../system.ts'
import { auditLedgers, readStateBefore } from '../watch/audit.ts'
import { type Sampling, startSampling } from '../watch/samples.ts'
import { startWebhookReceiver } from '../webhook-receiver.ts'
import { runK6 } from './k6-process.ts'
import type { K6Run, Round, RoundDeps, RoundResult, Running, Scenario, ScriptName } from './types.ts'

const POINT_EVERY_SECONDS = { short: 1, full: 5 }

export async function runRound(
  deps: RoundDeps,
  script: ScriptName,
  scenario: Scenario,
  round: Round,
): Promise<RoundResult> {
  const { database, deployment } = deps
  const before = await readStateBefore(database.ownerUrl)
  const system = await startSystem(deployment, {
    servers: round.servers,
    worker: true,
    inspect: false,
    metrics: true,
  })
  const receiver = scenario.receiver ? await startWebhookReceiver() : null
  let guest: Side | null = null
  let undo = () => {}
  try {
    if (scenario.guest) guest = await startGuest(database, deployment, { inspect: false })
    const running = makeRunning(deps, script, scenario, { round, system, receiver, guest })
    undo = (await round.prepare?.(running)) ?? undo
    const runs = await (round.drive ?? driveOnce)(running)
    const audit = await auditLedgers({
      ownerUrl: database.ownerUrl,
      system,
      before,
      receiver,
      acknowledged: countOf(runs, 'acknowledged_records'),
      // Includes records of requests that were in progress when k6 ended their iteration.
      unanswered:
        countOf(runs, 'unanswered_records') +
        countOf(runs, 'sent_records') -
        countOf(runs, 'settled_records'),
    })
    return { round, runs, audit }
  } finally {
    undo()
    receiver?.stop()
    if (guest) await stopGuest(guest)
    await system.stop()
  }
}

function countOf(runs: readonly K6Run[], metric: string): number {
  return runs.reduce((sum, { summary }) => sum + Number(summary.metrics[metric]?.['count'] ?? 0), 0)
}

async function driveOnce(running: Running): Promise<K6Run[]> {
  return [await running.runScript()]
}

function makeRunning(
  deps: RoundDeps,
  script: ScriptName,
  scenario: Scenario,
  parts: Pick<Running, 'round' | 'system' | 'receiver' | 'guest'>,
): Running {
  const running: Running = {
    ...deps,
    script,
    ...parts,
    runScript: (title = parts.round.name, env = {}) => runOnce(running, scenario, title, env),
  }
  return running
}

async function runOnce(
  running: Running,
  scenario: Scenario,
  title: string,
  env: Readonly<Record<string, string>>,
): Promise<K6Run> {
  const { options, script, k6, log } = running
  log(`… ${[script, title].filter(Boolean).join(', ')}`)
  const keepDir = options.keep ? options.outDir : null
  if (keepDir !== null) mkdirSync(keepDir, { recursive: true })
  const sampling: Sampling[] = []
  try {
    const result = await runK6({
      k6,
      script,
      env: { ...scriptEnv(running), ...scenario.env?.(options), ...env },
      everySeconds: POINT_EVERY_SECONDS[options.profile],
      secondsMax: scenario.secondsMax[options.profile] + (options.seconds ?? 0) * 3,
      keepDir,
      onStart: (pid) => sampling.push(startSampling(watchedOf(running, pid))),
    })
    return { ...result, title, ...sampling[0]!.stop() }
  } finally {
    for (const one of sampling) one.stop()
  }
}

function scriptEnv({ system, deployment, options, receiver, guest }: Running): Record<string, string> {
  return {
    TALLYSTICK_URLS: system.targets.map(toUrl).join(','),
    OPERATOR_KEY: deployment.operatorKey,
    PROFILE: options.profile,
    SEED: String(options.seed),
    ...(receiver && { RECEIVER_URL: `http://127.0.0.1:${receiver.port}` }),
    ...(guest && {
      GUEST_URL: guest.system.targets.map(toUrl)[0]!,
      GUEST_OPERATOR_KEY: guest.deployment.operatorKey,
    }),
    ...(options.seconds !== null && { SECONDS: String(options.seconds) }),
  }
}

function toUrl({ host, port }: Target): string {
  return `http://${host}:${port}`
}

function watchedOf({ system, database, receiver, guest }: Running, k6Pid: number) {
  const servers = system.servers.map(({ pid }, i): [string, number[]] => [
    system.servers.length === 1 ? 'API' : `API ${i + 1}`,
    [pid],
  ])
  return {
    processes: {
      ...Object.fromEntries(servers),
      worker: system.worker ? [system.worker.pid] : [],
      k6: [k6Pid],
      ...(receiver && { receiver: [receiver.pid] }),
      ...(guest && {
        'guest API': guest.system.servers.map(({ pid }) => pid),
        'guest worker': [guest.system.worker!.pid],
      }),
    },
    postmaster: database.postmaster,
    metrics: system.metrics,
  }
}
