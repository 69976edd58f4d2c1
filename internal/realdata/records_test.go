package realdata

// The records of the files, as far as the questions need them. Every Time is in
// milliseconds since 1970.

type webRequest struct {
	Seq, Time, Client int64
	Method, Path      string
	Status, Bytes     int64
}

// webOf reads web_access.csv and nasa_http.csv, which have the same columns.
func webOf(f *fields, v *webRequest) {
	v.Seq, v.Time, v.Client = f.number(), f.number(), f.number()
	v.Method, v.Path = f.text(), f.text()
	v.Status, v.Bytes = f.number(), f.number()
}

func (v *webRequest) time() int64 { return v.Time }

type edit struct {
	Time          int64
	Channel, Page string
	User, Robot   int64
	Added         int64
}

func editOf(f *fields, v *edit) {
	v.Time, v.Channel = f.skip(1).number(), f.text()
	v.Page, v.User = f.skip(1).text(), f.number()
	v.Robot = f.skip(1).number()
	v.Added = f.skip(3).number()
}

func (v *edit) time() int64 { return v.Time }

type trip struct {
	Seq, Time, Dropoff int64
	Local              string // pick-up, on the clocks of New York
	Cents              int64
	PickupZone         string
	DropoffZone        string
	Borough            string
}

func tripOf(f *fields, v *trip) {
	v.Seq, v.Time, v.Dropoff, v.Local = f.number(), f.number(), f.number(), f.text()
	v.Cents = f.skip(7).number()
	v.PickupZone, v.DropoffZone, v.Borough = f.skip(1).text(), f.text(), f.text()
}

func (v *trip) time() int64 { return v.Time }

type flight struct {
	Time  int64
	Route route
	Delay int64
}

type route struct{ Origin, Destination string }

func flightOf(f *fields, v *flight) {
	v.Time = f.skip(1).number()
	v.Route = route{f.text(), f.text()}
	v.Delay = f.skip(1).number()
}

func (v *flight) time() int64 { return v.Time }

type quake struct {
	Time      int64
	Net, ID   string
	Magnitude int64
	Measured  bool // Magnitude was given
}

func quakeOf(f *fields, v *quake) {
	v.Time = f.skip(1).number()
	v.Net, v.ID = f.skip(1).text(), f.text()
	v.Magnitude, v.Measured = f.maybe()
}

func (v *quake) time() int64 { return v.Time }

type position struct {
	Time          int64
	Vehicle, Trip string
}

func positionOf(f *fields, v *position) {
	v.Time, v.Vehicle, v.Trip = f.skip(1).number(), f.text(), f.text()
}

func (v *position) time() int64 { return v.Time }

type commit struct {
	Time, ZoneMinutes int64
	Component         string
	Added, Deleted    int64
}

func commitOf(f *fields, v *commit) {
	v.Time, v.ZoneMinutes = f.skip(1).number(), f.skip(1).number()
	v.Component = f.skip(1).text()
	v.Added, v.Deleted = f.skip(1).number(), f.number()
}

func (v *commit) time() int64 { return v.Time }

type trade struct {
	Seq, Time  int64
	Symbol     string
	Price, Qty int64
	Exchange   string
}

func tradeOf(f *fields, v *trade) {
	v.Seq, v.Time, v.Symbol = f.number(), f.number(), f.text()
	v.Price, v.Qty, v.Exchange = f.number(), f.number(), f.text()
}

func (v *trade) time() int64 { return v.Time }

type reading struct {
	Seq, Time int64
	Sensor    string // "" for the one machine
	Value     float64
}

func sensorOf(f *fields, v *reading) {
	v.Seq, v.Time, v.Sensor, v.Value = f.number(), f.number(), f.text(), f.real()
}

func machineOf(f *fields, v *reading) {
	v.Seq, v.Time, v.Value = f.number(), f.number(), f.real()
}

func (v *reading) time() int64 { return v.Time }
