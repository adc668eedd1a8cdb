import { defineReasonedStep } from '../reasoned-step.ts'

export const cancel = defineReasonedStep({
  name: 'cancel',
  does: "Calls off work that is not delivered. The principal's step.",
  reasonExample: 'the order was withdrawn',
  method: 'cancel',
})
