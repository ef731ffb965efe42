package sheetstest

import "time"

// quota counts the calls of the current minute.
type quota struct {
	since         time.Time
	reads, writes int
}

const perMinute = 60

// overQuota counts a call and reports whether it is one too many.
func (s *Server) overQuota(write bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.quotaOn {
		return false
	}
	if time.Since(s.quota.since) >= time.Minute {
		s.quota = quota{since: time.Now()}
	}
	n := &s.quota.reads
	if write {
		n = &s.quota.writes
	}
	if *n >= perMinute {
		return true
	}
	*n++
	return false
}
