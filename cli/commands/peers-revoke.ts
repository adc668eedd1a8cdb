import { definePeerChange } from '../peer-change.ts'

export const peersRevoke = definePeerChange({
  name: 'revoke',
  does:
    'Ends a peering for good: the other side is told, and what was to be sent is dropped. What was\n' +
    'shared stays where it is.',
  codeExample: 'contract_ended',
  isFinal: true,
})
