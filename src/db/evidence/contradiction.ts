import { ProofError } from '../../proof/error.ts'

/** The database's tables say something else than the entries that they were made from. */
export function contradiction(detail: string): ProofError {
  return new ProofError('columns_contradict_entries', detail)
}
