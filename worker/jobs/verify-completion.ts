import type { Payload } from '../../src/db/jobs/queues.ts'
import {
  type VerifyCompletionsDeps,
  verifyCompletions,
} from '../../src/followers/verification/verify-completions.ts'
import { parseId } from '../../src/proof/ids.ts'
import type { JobOutcome } from '../work-queues.ts'

/** A refused completion is given up at once: another look does not change what is stored. */
export function verifyCompletionJobs(deps: VerifyCompletionsDeps) {
  return async (payloads: readonly Payload<'verify-completion'>[]): Promise<JobOutcome[]> => {
    const names = payloads.map(({ ledger, record }) => ({
      ledgerId: parseId('led', ledger),
      recordId: parseId('rec', record),
    }))
    const results = await verifyCompletions(deps, names)
    return results.map((result) => {
      if (result.status === 'done') return { status: 'completed' }
      return { status: result.status === 'failed' ? 'failed' : 'deadletter', error: result.error }
    })
  }
}
