// What a `pay` callback of an Initiator may throw.

/** Nothing is lost, and it may work in a moment: the callback is called again. */
export class PayLater extends Error {}
