import { INTEGER_MAX } from '../../limits.ts'
import { integer, isHash, objectOf } from '../fields.ts'
import { ALWAYS, extend } from '../predicates.ts'
import { type KindRule, SYSTEM } from './rule.ts'

type Head = { readonly size: number; readonly chain: string }

const isHead = objectOf({ size: integer(1, INTEGER_MAX), chain: isHash })

export const RESTORE_KINDS = {
  /** In this entry, the operator signs the state that the ledger had when it was reopened. */
  'ledger-restored': {
    ...SYSTEM,
    subjects: ['led'],
    fields: extend(ALWAYS, { known: isHead, found: isHead }),
    follow: ({ whole }, { predicate }) => whole.verifyRestored(predicate['found'] as Head),
  },
} as const satisfies Readonly<Record<string, KindRule>>
