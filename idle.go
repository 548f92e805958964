package cachedpgx

// reclaimer is an idle session that holds a pin, and may have to give it up.
type reclaimer interface{ reclaim() bool }

// full says whether the next taker has to wait.
func (o *origin) full() bool {
	st := o.db.Stats()
	return st.MaxOpenConnections > 0 && st.InUse >= st.MaxOpenConnections
}

// offer registers an idle session that holds a pin. If somebody waits already,
// the session is asked to give it up at once: it reports whether it may keep it.
//
//	taker                       session that goes idle
//	waiting = 1
//	reclaim: nobody is idle
//	                            registers
//	                            sees waiting = 1, gives up
//	gets the connection
//
// In the other order the taker finds it registered.
func (o *origin) offer(r reclaimer) bool {
	o.idle.Lock()
	o.idle.sessions = append(o.idle.sessions, r)
	o.idle.Unlock()
	if o.waiting.Load() > 0 && o.full() {
		return !o.withdraw(r)
	}
	return true
}

// withdraw takes a session out of the offers. It reports whether it was there:
// if not, a taker has it in hand.
func (o *origin) withdraw(r reclaimer) bool {
	o.idle.Lock()
	defer o.idle.Unlock()
	for i, s := range o.idle.sessions {
		if s == r {
			o.idle.sessions = append(o.idle.sessions[:i], o.idle.sessions[i+1:]...)
			return true
		}
	}
	return false
}

// reclaim takes the pin of the session that has been idle longest. It reports
// whether there was one.
func (o *origin) reclaim() bool {
	for {
		o.idle.Lock()
		if len(o.idle.sessions) == 0 {
			o.idle.Unlock()
			return false
		}
		r := o.idle.sessions[0]
		o.idle.sessions = o.idle.sessions[1:]
		o.idle.Unlock()
		if r.reclaim() {
			return true
		}
	}
}
