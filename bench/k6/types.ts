import type { Database } from '../database.ts'
import type { Side } from '../pair.ts'
import type { Preflight } from '../preflight.ts'
import type { Deployment, System } from '../system.ts'
import type { Audit } from '../watch/audit.ts'
import type { Sampled } from '../watch/samples.ts'
import type { Flatness } from '../watch/trends.ts'
import type { WebhookReceiver } from '../webhook-receiver.ts'
import type { Point } from './series.ts'

export type Profile = 'short' | 'full'

export type K6Options = {
  /** In the order in which they run. */
  readonly scripts: readonly ScriptName[]
  readonly profile: Profile
  /** Requests/s at the top of notarize-ramp; `max`: the runner finds the ceiling. null: the script's own. */
  readonly peak: number | 'max' | null
  /** API processes; null: as many as the script is about. */
  readonly servers: number | null
  /** Replaces the script's seconds of load; null: the profile's. */
  readonly seconds: number | null
  readonly seed: number
  readonly outDir: string
  readonly embedded: boolean
  readonly fsyncGateMs: number
  readonly force: boolean
  /** Whether k6's summary and recording stay beside the report. */
  readonly keep: boolean
}

/** Summary of a script at its end: k6/lib/summary.js. */
export type Summary = {
  readonly script: string
  readonly profile: string
  readonly seed: number
  readonly durationMs: number
  readonly ledgers: readonly string[]
  readonly figures: Figures
  readonly extras: Readonly<Record<string, unknown>>
  readonly thresholds: readonly {
    readonly metric: string
    readonly expression: string
    readonly ok: boolean
  }[]
  readonly checks: readonly { readonly name: string; readonly passes: number; readonly fails: number }[]
  readonly metrics: Readonly<Record<string, Readonly<Record<string, number | string>>>>
}

/** One run of k6, and what was seen of all processes meanwhile. */
export type K6Run = K6Result & { readonly title: string } & Sampled

export type K6Result = {
  readonly summary: Summary
  /** By k6's own clock, in its own aggregation: what it saw in each second, or each five. */
  readonly points: readonly Point[]
  /** The last lines that k6 and the script wrote to stderr. */
  readonly warnings: readonly string[]
}

/** Parts that the rounds of a script stand on. */
export type RoundDeps = {
  readonly database: Database
  readonly deployment: Deployment
  readonly options: K6Options
  readonly k6: string
  readonly log: (line: string) => void
}

/** A deployment that runs, on which a round drives k6. */
export type Running = RoundDeps & {
  readonly script: ScriptName
  readonly round: Round
  readonly system: System
  readonly receiver: WebhookReceiver | null
  /** The other organisation; null: the scenario has none. */
  readonly guest: Side | null
  /** Runs the script once; `env` is added to what it gets. */
  runScript(title?: string, env?: Readonly<Record<string, string>>): Promise<K6Run>
}

export type RoundResult = {
  readonly round: Round
  readonly runs: readonly K6Run[]
  readonly audit: Audit
}

/** Figures by their ids in k6/published.json. */
type Figures = Readonly<Record<string, number | null>>

/** Fresh processes, and in the profile `full` a fresh database: what runs on them, and is audited together. */
export type Round = {
  readonly name: string
  readonly servers: number
  /**
   * Called before k6 starts, for anything else that the processes need. The function that it returns undoes this at the
   * end.
   */
  readonly prepare?: (running: Running) => Promise<() => void>
  /** The runs of k6; without it one, as the profile says. */
  readonly drive?: (running: Running) => Promise<K6Run[]>
}

/** Findings of the runner about a script, besides the script's own. */
export type Findings = {
  readonly figures: Figures
  readonly extras?: Readonly<Record<string, unknown>>
  /** Faults besides thresholds and audit, each named. */
  readonly faults?: readonly string[]
}

export type DrivenRound = { readonly round: Round; readonly runs: readonly K6Run[] }

/** How the runner runs a script. */
export type Scenario = {
  /** One, of one API process, where nothing else is said. */
  readonly rounds?: (options: K6Options) => readonly Round[]
  /** k6 is killed after so many seconds, each run. */
  readonly secondsMax: Readonly<Record<Profile, number>>
  /** Deliveries go to a receiver in a process of its own: RECEIVER_URL. */
  readonly receiver?: boolean
  /** A second server, with a database and keys of its own: GUEST_URL, GUEST_OPERATOR_KEY. */
  readonly guest?: boolean
  /** The script's environment, besides what all have. */
  readonly env?: (options: K6Options) => Readonly<Record<string, string>>
  /** Disk that a round may need, if that is much. */
  readonly diskBytes?: (options: K6Options) => number
  /** Combines the figures of several rounds or runs; without it those of the last run count. */
  readonly combine?: (rounds: readonly DrivenRound[], options: K6Options) => Findings
}

/** Scripts of k6/, in the order in which `all` runs them. */
export type ScriptName =
  | 'notarize-ramp'
  | 'lifecycle-soak'
  | 'batch-sustained'
  | 'dense-producers'
  | 'pipelined-messages'
  | 'mixed-users'
  | 'zipfian'
  | 'overload'
  | 'replicas'
  | 'webhooks-drain'
  | 'federation-drain'

export type Goal = { readonly atLeast?: number; readonly atMost?: number }

/** A script in k6/published.json. */
export type Published = {
  readonly what: string
  /** Its figures elsewhere in words, as they were published; and on what. */
  readonly elsewhere: string
  readonly hardware: string
  readonly figures: readonly {
    readonly id: string
    readonly name: string
    readonly unit: string
    readonly published?: number
    /** The same by `npm run bench`, whose generator costs less (docs/BENCHMARKS.md has its machine and its day). */
    readonly generator?: number
    readonly goal?: Goal
  }[]
}

export type ReportedRun = K6Run & {
  /** µs of k6's own CPU for each request that it sent. */
  readonly k6MicrosPerRequest: number
  /** Flatness of the rate of acknowledged records, by k6's scenarios. */
  readonly flatness: Readonly<Record<string, Flatness>>
}

export type ReportedRound = {
  readonly name: string
  readonly servers: number
  readonly runs: readonly ReportedRun[]
  readonly audit: Audit
}

/** Everything that a figure needs beside it, as it goes into bench/results. */
export type K6Report = {
  readonly script: ScriptName
  readonly published: Published
  readonly options: K6Options
  readonly startedAt: string
  readonly seconds: number
  readonly commit: string
  readonly node: string
  readonly k6: string
  readonly postgres: string
  readonly postgresSettings: Readonly<Record<string, string>>
  readonly preflight: Preflight
  readonly figures: Figures
  readonly extras: Readonly<Record<string, unknown>>
  readonly rounds: readonly ReportedRound[]
  /** Faults: thresholds, audits, memory that grows. */
  readonly faults: readonly string[]
  readonly ok: boolean
}
