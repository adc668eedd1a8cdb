import { readJsonArgument } from '../json-input.ts'
import {
  PEER_HELP,
  PEER_OPTIONS,
  STEP_HELP,
  STEP_OPTIONS,
  stepOptions,
  writeMembers,
} from '../record-options.ts'
import { showItem } from '../resource.ts'
import { UsageError } from '../run.ts'
import { parseShare } from '../share-option.ts'

export const activate = showItem({
  usage: 'activate RECORD',
  flags: '[--if-version N]',
  about: `Accepts the work: the record becomes ACTIVE, and you are its performer. If the record names a performer, only that
agent can activate it.`,
  options: { ...PEER_OPTIONS, ...STEP_OPTIONS },
  optionsHelp: `${PEER_HELP}
${STEP_HELP}`,
  examples: [
    'activate rec_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'activate rec_01kd2m3n4p5q6r7s8t9v0w1x2y --if-version 1',
  ],
  request: (client, id, values) =>
    client.records.activate(id, { peer: values.peer, ...writeMembers(values) }, stepOptions(values)),
})

export const complete = showItem({
  usage: 'complete RECORD [--evidence JSON|FILE|-]',
  flags: '[--if-version N]',
  about: `Delivers the work, with evidence that the type's rules compare with the payload. Without --evidence it is read from
standard input. A step of the performer.`,
  options: { evidence: { type: 'string' }, salt: { type: 'string' }, ...PEER_OPTIONS, ...STEP_OPTIONS },
  optionsHelp: `  --evidence JSON        the evidence itself, a file with it, or - for standard input
  --salt SALT            16 bytes, base64url: if you need the digest beforehand
${PEER_HELP}
${STEP_HELP}`,
  examples: [
    `complete rec_01kd2m3n4p5q6r7s8t9v0w1x2y --evidence '{"quantity":100,"deliveryNote":"DN-17"}'`,
    'complete rec_01kd2m3n4p5q6r7s8t9v0w1x2y --evidence delivery.json --idempotency-key note-17',
    '$ node deliver.js | tallystick complete rec_01kd2m3n4p5q6r7s8t9v0w1x2y',
  ],
  parse: async (values, _, io) => ({
    ...values,
    evidence: await readJsonArgument(values.evidence ?? '-', '--evidence', io),
  }),
  request: (client, id, { evidence, salt, peer, ...values }) =>
    client.records.complete(id, { evidence, salt, peer, ...writeMembers(values) }, stepOptions(values)),
})

export const overturn = showItem({
  usage: 'overturn RECORD --reason TEXT',
  flags: '[--if-version N]',
  about: `Turns a rejection into an acceptance. Any agent but the performer can do it, with the scope verdicts:overturn.`,
  options: { reason: { type: 'string' }, 'valid-until': { type: 'string' }, ...STEP_OPTIONS },
  optionsHelp: `  --reason TEXT          the reason, for people; can be erased
  --valid-until TIME     when the settlement signal expires. Default: never
${STEP_HELP}`,
  examples: [`overturn rec_01kd2m3n4p5q6r7s8t9v0w1x2y --reason 'the appeal was granted'`],
  parse: (values) => ({ ...values, reason: requireReason('overturn', values.reason) }),
  request: (client, id, { reason, ...values }) =>
    client.records.overturn(
      id,
      { reason, validUntil: values['valid-until'], ...writeMembers(values) },
      stepOptions(values),
    ),
})

export const revise = reasonedStep({
  name: 'revise',
  does: 'Requests a revision of the work: the record becomes ACTIVE again. A step of the principal.',
  reasonExample: 'the labels are missing',
  method: 'requestRevision',
})

export const cancel = reasonedStep({
  name: 'cancel',
  does: 'Cancels work that is not delivered. A step of the principal.',
  reasonExample: 'the order was withdrawn',
  method: 'cancel',
})

type ReasonedStep = {
  readonly name: string
  readonly does: string
  readonly reasonExample: string
  readonly method: 'cancel' | 'requestRevision'
}

/** Makes a command for a principal's step that needs only a reason. */
function reasonedStep({ name, does, reasonExample, method }: ReasonedStep) {
  return showItem({
    usage: `${name} RECORD --reason TEXT`,
    flags: '[--if-version N]',
    about: does,
    options: { reason: { type: 'string' }, ...STEP_OPTIONS },
    optionsHelp: `  --reason TEXT          the reason, for people; can be erased\n${STEP_HELP}`,
    examples: [`${name} rec_01kd2m3n4p5q6r7s8t9v0w1x2y --reason '${reasonExample}'`],
    parse: (values) => ({ ...values, reason: requireReason(name, values.reason) }),
    request: (client, id, { reason, ...values }) =>
      client.records[method](id, { reason, ...writeMembers(values) }, stepOptions(values)),
  })
}

function requireReason(step: string, reason: string | undefined): string {
  if (reason === undefined) throw new UsageError(`${step} needs --reason TEXT`)
  return reason
}

export const share = showItem({
  usage: 'share RECORD --with PEER',
  flags: '[--with PEER:digests]…',
  about: `Shares a gated record with ledgers of other servers, from its first entry on. Only the end of the peering ends it.
\`tallystick create --share PEER\` shares a record from the beginning.`,
  options: {
    with: { type: 'string', multiple: true },
    'on-behalf-of': { type: 'string' },
    'idempotency-key': { type: 'string' },
  },
  optionsHelp: `  --with PEER            a peer (\`tallystick peers list\`), or PEER:digests: the entries without their documents.
                         Repeatable
  --on-behalf-of AGENT   in the name of another agent (agt_…); needs the scope agents:act
  --idempotency-key KEY  repeating the command with the same key writes nothing twice. Default: a new key`,
  examples: [
    'share rec_01kd2m3n4p5q6r7s8t9v0w1x2y --with peer_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'share rec_01kd2m3n4p5q6r7s8t9v0w1x2y --with peer_01kd2m3n4p5q6r7s8t9v0w1x2y:digests',
  ],
  parse: (values) => {
    if (values.with === undefined)
      throw new UsageError('share needs --with PEER, the peer that gets the record')
    return { ...values, share: parseShare(values.with, '--with') }
  },
  request: (client, id, { share, ...values }) =>
    client.records.share(
      id,
      { share, onBehalfOf: values['on-behalf-of'] },
      { idempotencyKey: values['idempotency-key'] },
    ),
})
