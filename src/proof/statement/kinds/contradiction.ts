import { ProofError } from '../../error.ts'

/** Error for members of a predicate that contradict each other. */
export function contradiction(detail: string): ProofError {
  return new ProofError('statement_predicate', detail)
}
