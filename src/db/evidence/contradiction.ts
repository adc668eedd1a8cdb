import { ProofError } from '../../proof/error.ts'

/** Makes the error for tables that contradict their entries. */
export function contradiction(detail: string): ProofError {
  return new ProofError('columns_contradict_entries', detail)
}
