/** Exit codes, documented in docs/reference/cli.md. The codes from 64 on follow BSD's sysexits. */
export const EXIT = {
  ok: 0,
  refused: 1,
  deny: 2,
  usage: 64,
  notALedger: 65,
  badInput: 65,
  software: 70,
  unavailable: 69,
  io: 74,
  denied: 77,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const HELP_EXIT_CODES = `Exit codes:
  0   done; verify: everything that was read is intact; reconcile: both sides match
  1   refused by the server; verify: an entry, a checkpoint or a key is wrong, or --strict found too little trust;
      reconcile: as for verify, or the two ledgers differ; peers reconciliation: not reconciled; audit: a fault was found;
      doctor, preflight: something fails; types preview: a document or a rule fails; webhooks test: not delivered
  2   hook --fail-closed: do not make the call, because it could not be recorded
  64  wrong arguments
  65  the input is not a ledger, is cut short, or is not JSON
  69  a server or database cannot be reached, or the connection broke
  70  an error in this program
  74  a file cannot be read or written, or the reader of the output (a pipe) has closed it
  77  the API key or login is refused, or may not do this: it lacks a scope, the step is another party's, or the
      ledger is frozen
`
