import { availableParallelism } from 'node:os'
import { isServer, measureWindow } from './load-window.ts'
import type { DrivenRound, Findings, Scenario } from './types.ts'

/** Adds CPU and memory of the server to the figures. The figures published elsewhere also contain them. */
export const pipelinedMessages = {
  secondsMax: { short: 180, full: 900 },
  combine: addServer,
} as const satisfies Scenario

function addServer(rounds: readonly DrivenRound[]): Findings {
  const run = rounds.at(-1)!.runs.at(-1)!
  const { cores, microsPerRecord } = measureWindow(run)
  const servers = Object.keys(cores).filter(isServer)
  const used = servers.reduce((sum, name) => sum + cores[name]!, 0)
  const memory = servers.map((name) => run.memory[name]?.max ?? 0)
  return {
    figures: {
      ...run.summary.figures,
      serverCpuPercent: (used / availableParallelism()) * 100,
      serverMemory: (Math.max(...memory) * 2 ** 20) / 1e6,
    },
    extras: { ...run.summary.extras, cores, microsPerRecord },
  }
}
