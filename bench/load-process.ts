import { runJob, serveJob, type WindowEvents } from './child.ts'
import { generateLoad, type LoadPlan, type LoadResult } from './load.ts'

/** Past the plan's own bounds the process hangs. */
const GRACE_MS = 15_000

/** `generateLoad` in a process of its own. */
export function runLoad(plan: LoadPlan, events: WindowEvents = {}): Promise<LoadResult> {
  return runJob(import.meta.url, plan, plan.warmUpMs + plan.durationMs + plan.drainMsMax + GRACE_MS, events)
}

serveJob<LoadPlan, LoadResult>(import.meta.url, generateLoad)
