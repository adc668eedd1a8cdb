import type { Tallystick } from '../../sdk/client.ts'
import type { Audit } from '../../sdk/generated/api.ts'
import { type Finding, fail, ok, warn } from '../preflight/finding.ts'

const CHECK = 'audit'
/** Number of audits to read. At most one audit is open, so one of two has ended. */
const AUDITS_READ = 2

/** Reports the newest ended audit. A failed audit is a warning, since it proves nothing about the ledger. */
export async function checkAudits(client: Tallystick): Promise<Finding> {
  const { data } = await client.audits.list({ limit: AUDITS_READ }).page()
  const ended = data.find(({ state }) => state === 'done' || state === 'failed')
  if (ended !== undefined) return findingOf(ended)
  const [open] = data
  if (open?.error) return warn(CHECK, `${open.id} failed, and will be tried again: ${open.error.reason}`, LOG)
  return ok(CHECK, open === undefined ? 'there was no audit yet' : `${open.id} is ${open.state}`)
}

const LOG =
  'ask the server’s operator: the worker’s log has the error (docs/runbooks/verification.md#no-audit-for-two-days)'

function findingOf({ id, finishedAt, report, error }: Audit): Finding {
  if (error !== null) return warn(CHECK, `${id} failed at ${finishedAt}: ${error.reason}`, LOG)
  const { entries, failure } = report!
  if (failure === null) return ok(CHECK, `${id} found no fault in ${entries} entries at ${finishedAt}`)
  return fail(
    CHECK,
    `${id} found a fault${failure.seq === null ? '' : ` at entry ${failure.seq}`}: ${failure.code}`,
    'ask the server’s operator: docs/runbooks/integrity.md#a-ledger-does-not-verify',
  )
}
