import { definePeerChange } from '../peer-change.ts'

export const peersSuspend = definePeerChange({
  name: 'suspend',
  does:
    'Suspends a peering: nothing is sent to it, and nothing that it sends is taken, until it is\n' +
    'resumed. What is to be sent waits.',
  codeExample: 'maintenance',
})
